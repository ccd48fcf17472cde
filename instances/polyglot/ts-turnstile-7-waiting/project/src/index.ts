export {Bucket, type Clock} from './bucket.js';
export {Limiter, type Rate} from './limiter.js';
