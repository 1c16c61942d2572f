// A list on the left and what is chosen in it on the right; one at a time in a narrow window.
import { ArrowLeft, RefreshCw } from "lucide-react";
import { Fragment, useDeferredValue, useRef, useState, type ReactNode } from "react";
import { MOD, useKey } from "../keys";
import { go, usePlace, type Page } from "../place";
import type { JsonObject, Problem } from "../generated/protocol";
import { useConnection, useEra, type Listed } from "../store";
import { brief, many, textIn } from "../words";
import { Empty, IconButton, ProblemBox, Skeleton } from "./controls";
import { List } from "./list";
import { SearchField } from "./search";

interface Props {
  page: Page;
  /** The lists that are shown together, each with its word for one item. */
  lists: [noun: string, list: Listed][];
  /** The members of which one names an item, and with which a link does. */
  names: string[];
  /** The thing to do with an item: `call it`. */
  verb: string;
  /** A row with more than the name of its item. */
  row?: (item: JsonObject) => ReactNode;
  /** An item that a link names and that is not listed. */
  unlisted?: (name: string) => JsonObject | null;
  /** Stands in place of a list without items. */
  none?: ReactNode;
  children: (item: JsonObject, query: string) => ReactNode;
}

const SEARCHED = ["name", "title", "description", "about"];

export function Split({ page, lists, names, verb, row, unlisted, none, children }: Props) {
  const { item, query } = usePlace();
  const era = useEra();
  const [filter, setFilter] = useState("");
  const input = useRef<HTMLInputElement>(null);
  const wanted = useDeferredValue(filter.toLowerCase());
  const known = lists.flatMap(([, { items }]) => items ?? []);
  const nameOf = (one: JsonObject): string => textIn(one, ...names) ?? "";
  const isFound = (one: JsonObject): boolean => [...names, ...SEARCHED].some((member) => textIn(one, member)?.toLowerCase().includes(wanted));
  const found = wanted === "" ? known : known.filter(isFound);
  useKey("/", () => {
    input.current?.focus();
    return input.current !== null;
  });
  const counts = lists.flatMap(([noun, { items }]) => (items && items.length > 0 ? [many(items.length, noun)] : []));
  const [first] = found;
  const chosen = item === null ? null : (known.find((one) => nameOf(one) === item) ?? unlisted?.(item) ?? null);
  const problem = lists.find(([, list]) => list.problem)?.[1].problem ?? null;
  const waits = useInstead(page, lists.map(([, list]) => list), problem);
  const isEmpty = item === null && lists.every(([, { state, items }]) => state === "absent" || items?.length === 0);
  return (
    <div className="split" data-chosen={item !== null} data-empty={isEmpty}>
      <div className="split-list">
        <div className="bar">
          <SearchField
            ref={input}
            label={`Filter ${page}`}
            placeholder="filter"
            value={filter}
            onChange={setFilter}
            onKeyDown={({ key }) => key === "Enter" && first && go(page, nameOf(first))}
          />
          <span className="count" role="status">
            {found.length === known.length ? known.length.toLocaleString("en") : `${found.length} of ${known.length}`}
          </span>
          <IconButton icon={RefreshCw} label={`Ask for the ${page} again`} onClick={() => lists.forEach(([, { refresh }]) => refresh())} />
        </div>
        {problem && known.length > 0 && <ProblemBox problem={problem} />}
        {known.length === 0 ? (
          (none ?? waits)
        ) : (
          <List
            label={page}
            items={found}
            keyOf={nameOf}
            chosen={found.findIndex((one) => nameOf(one) === item)}
            onChoose={(one) => go(page, nameOf(one))}
            row={row ?? ((one) => <RowName text={nameOf(one)} />)}
            main
          />
        )}
      </div>
      <section className="split-detail" aria-label={item === null ? page : brief(item)}>
        <div className="narrow-only back">
          <IconButton icon={ArrowLeft} label={`Back to the ${page}`} onClick={() => go(page)} />
        </div>
        {chosen && <Fragment key={`${era} ${item} ${query}`}>{children(chosen, query)}</Fragment>}
        {item !== null && !chosen && known.length > 0 && <Empty title={`There is no ${lists[0]?.[0]} ${brief(item)}.`} />}
        {item === null && counts.length > 0 && (
          <Empty title={`${counts.join(" and ")}. Choose one, and ${verb}.`}>
            <p>
              <kbd>j</kbd> <kbd>k</kbd> move, <kbd>/</kbd> filters, <kbd>{MOD}K</kbd> finds anything.
            </p>
          </Empty>
        )}
      </section>
    </div>
  );
}

export const RowName = ({ text }: { text: string }) => <span className="mono ellipsis">{brief(text, 120)}</span>;

/** Stands in place of lists that are empty, absent, or not yet here. */
function useInstead(page: Page, lists: Listed[], problem: Problem | null): ReactNode {
  const connection = useConnection();
  if (problem) return <ProblemBox problem={problem} />;
  if (connection?.state === "connecting" || lists.some(({ state }) => state === "loading")) return <Skeleton />;
  if (!connection?.revision) return <Empty title="Not connected." />;
  if (lists.every(({ state }) => state === "absent"))
    return <Empty title={`This server offers no ${page}.`}>It did not declare the capability.</Empty>;
  if (!lists.every(({ items }) => items)) return <Skeleton />;
  return <Empty title={`This server has no ${page}.`}>It declares the capability; its list is empty.</Empty>;
}
