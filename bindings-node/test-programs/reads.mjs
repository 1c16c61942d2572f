// Counts the reads of the event loop in this thread.
export function countReads(require) {
  const reads = { count: 0, ended: 0 };
  const { prototype } = require("../dist/native/native.js").native().Port;
  const { watch } = prototype;
  prototype.watch = function (handle, onRead) {
    return watch.call(this, handle, (watched) => {
      reads.count++;
      if (!watched) reads.ended++;
      onRead(watched);
    });
  };
  return reads;
}
