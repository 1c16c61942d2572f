import { onLoad } from "../test-support/native.mjs";

// Counts the reads of the event loop in this thread.
export function countReads() {
  const reads = { count: 0, ended: 0 };
  onLoad(({ prototype }) => {
    const { watch } = prototype;
    prototype.watch = function (handle, onRead) {
      return watch.call(this, handle, (watched) => {
        reads.count++;
        if (!watched) reads.ended++;
        onRead(watched);
      });
    };
  });
  return reads;
}
