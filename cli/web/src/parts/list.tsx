// A list of rows of equal height, of which only the visible ones are drawn.
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, type KeyboardEvent, type ReactNode } from "react";
import { useKey } from "../keys";

export const ROW = 28;
const OVERSCAN = 12;

interface Props<T> {
  label: string;
  items: T[];
  keyOf: (item: T) => string | number;
  chosen: number;
  onChoose: (item: T) => void;
  row: (item: T) => ReactNode;
  className?: string;
  /** `j` and `k` move in this list wherever the focus is. */
  main?: boolean;
  /** Stays at the newest row while the last one is in view. */
  follow?: boolean;
}

export function List<T>({ label, items, keyOf, chosen, onChoose, row, className = "", main = false, follow = false }: Props<T>) {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW,
    overscan: OVERSCAN,
    getItemKey: (index) => {
      const item = items[index];
      return item === undefined ? index : keyOf(item);
    },
  });
  const step = (by: number): boolean => {
    const next = Math.max(0, Math.min(items.length - 1, chosen < 0 ? (by > 0 ? 0 : items.length - 1) : chosen + by));
    const item = items[next];
    if (item === undefined) return false;
    onChoose(item);
    rows.scrollToIndex(next);
    return true;
  };
  useKey("j", () => (main || box.current === document.activeElement) && step(1));
  useKey("k", () => (main || box.current === document.activeElement) && step(-1));
  const page = Math.max(1, Math.floor((box.current?.clientHeight ?? ROW) / ROW) - 1);
  const press = (event: KeyboardEvent): void => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -items.length, End: items.length }[event.key];
    if (by === undefined || event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    step(by);
  };
  const count = items.length;
  useEffect(() => {
    if (follow && atEnd.current && count > 0) rows.scrollToIndex(count - 1, { align: "end" });
  }, [follow, count, rows]);
  const shown = useRef(-1);
  useEffect(() => {
    if (chosen >= 0 && chosen !== shown.current) rows.scrollToIndex(chosen);
    shown.current = chosen;
  }, [chosen, rows]);
  const id = `list-${label.replace(/\W+/g, "-")}`;
  const visible = rows.getVirtualItems();
  return (
    <div
      ref={box}
      className={`list ${className}`}
      role="listbox"
      aria-label={label}
      tabIndex={0}
      aria-activedescendant={visible.some((one) => one.index === chosen) ? `${id}-${chosen}` : undefined}
      onKeyDown={press}
      onScroll={({ currentTarget: at }) => {
        atEnd.current = at.scrollHeight - at.scrollTop - at.clientHeight < ROW;
      }}>
      <div className="list-all" role="presentation" style={{ height: rows.getTotalSize() }}>
        {visible.map((one) => {
          const item = items[one.index];
          if (item === undefined) return null;
          return (
            <div
              key={one.key}
              id={`${id}-${one.index}`}
              role="option"
              aria-selected={one.index === chosen}
              aria-setsize={count}
              aria-posinset={one.index + 1}
              className="row"
              style={{ transform: `translateY(${one.start}px)` }}
              onClick={() => onChoose(item)}>
              {row(item)}
            </div>
          );
        })}
      </div>
    </div>
  );
}
