// A value outside React that components follow.
import { useSyncExternalStore } from "react";

export interface Cell<T> {
  get: () => T;
  set: (next: T) => void;
  /** A part of the value; `choose` must return the same one while nothing has changed. */
  useValue: <Part>(choose: (value: T) => Part) => Part;
}

export function cell<T>(value: T): Cell<T> {
  const readers = new Set<() => void>();
  const follow = (read: () => void): (() => void) => {
    readers.add(read);
    return () => readers.delete(read);
  };
  return {
    get: () => value,
    set: (next) => {
      value = next;
      for (const read of readers) read();
    },
    useValue: (choose) => useSyncExternalStore(follow, () => choose(value)),
  };
}
