export type Value = string | number | boolean | null | Value[] | Settings;

export interface Settings {
  [name: string]: Value;
}

/** Return the settings of all layers: what a later one says counts. */
export function merge(...layers: Settings[]): Settings {
  return Object.assign({}, ...layers);
}

/** Return the value at a path such as `db.port`, or what stands for a missing one. */
export function find(settings: Settings, path: string, missing: Value = null): Value {
  let found: Value | undefined = settings;
  for (const name of path.split('.')) {
    found = holdsSettings(found) ? found[name] : undefined;
  }
  return found ?? missing;
}

/** Whether there are settings below a value. */
function holdsSettings(value: Value | undefined): value is Settings {
  return typeof value === 'object' && value !== null;
}
