// The functions of the native library, for tests that watch or replace them.

/** Calls `change` with the class `Port` when the package loads the library in this thread. */
export function onLoad(change) {
  const { dlopen } = process;
  process.dlopen = (module, ...rest) => {
    dlopen(module, ...rest);
    change(module.exports.Port);
  };
}
