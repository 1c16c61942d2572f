// A list on the left and what is chosen in it on the right; one at a time in a narrow window.
import { ArrowLeft, RefreshCw, Search } from "lucide-react";
import { useDeferredValue, useMemo, useRef, useState, type ReactNode } from "react";
import { useKey } from "../keys";
import { brief } from "../words";
import { IconButton } from "./controls";
import { List } from "./list";

interface Props<T> {
  label: string;
  items: T[];
  keyOf: (item: T) => string;
  /** The text that the filter looks into. */
  textOf: (item: T) => string;
  row: (item: T) => ReactNode;
  chosen: string | null;
  onChoose: (key: string | null) => void;
  onRefresh: () => void;
  /** Stands in place of the list. */
  instead?: ReactNode;
  children: ReactNode;
}

export function Split<T>({ label, items, keyOf, textOf, row, chosen, onChoose, onRefresh, instead, children }: Props<T>) {
  const [filter, setFilter] = useState("");
  const input = useRef<HTMLInputElement>(null);
  const wanted = useDeferredValue(filter.toLowerCase());
  const found = useMemo(() => (wanted === "" ? items : items.filter((item) => textOf(item).toLowerCase().includes(wanted))), [items, wanted, textOf]);
  useKey("/", () => {
    input.current?.focus();
    return input.current !== null;
  });
  const first = found[0];
  return (
    <div className="split" data-chosen={chosen !== null}>
      <div className="split-list">
        <div className="bar">
          <label className="search">
            <Search className="icon" aria-hidden />
            <input
              ref={input}
              value={filter}
              placeholder="filter"
              aria-label={`Filter ${label}`}
              onChange={(event) => setFilter(event.target.value)}
              onKeyDown={(event) => {
                if (event.key === "Enter" && first !== undefined) onChoose(keyOf(first));
                if (event.key === "Escape" && filter !== "") {
                  setFilter("");
                  event.stopPropagation();
                }
              }}
            />
          </label>
          <span className="count" role="status">
            {found.length === items.length ? items.length.toLocaleString("en") : `${found.length} of ${items.length}`}
          </span>
          <IconButton icon={RefreshCw} label={`Ask for the ${label} again`} onClick={onRefresh} />
        </div>
        {instead ?? (
          <List
            label={label}
            items={found}
            keyOf={keyOf}
            chosen={found.findIndex((item) => keyOf(item) === chosen)}
            onChoose={(item) => onChoose(keyOf(item))}
            row={row}
            main
          />
        )}
      </div>
      <section className="split-detail" aria-label={chosen === null ? label : brief(chosen)}>
        <div className="narrow-only back">
          <IconButton icon={ArrowLeft} label={`Back to the ${label}`} onClick={() => onChoose(null)} />
        </div>
        {children}
      </section>
    </div>
  );
}
