// A few views of one thing, of which one is shown.
import * as Tabs from "@radix-ui/react-tabs";
import { useState, type ReactNode } from "react";
import { Copy } from "./controls";

export interface Segment {
  name: string;
  view: () => ReactNode;
  /** The same as text, to copy. */
  text?: () => string;
}

interface Props {
  label: string;
  segments: Segment[];
  /** Stands left of the tabs, in their line. */
  children?: ReactNode;
}

export function Segments({ label, segments, children }: Props) {
  const [wanted, setWanted] = useState("");
  const chosen = segments.find(({ name }) => name === wanted) ?? segments[0];
  return (
    <Tabs.Root className="segments" value={chosen?.name ?? ""} onValueChange={setWanted}>
      <div className="segments-line">
        {children}
        {chosen?.text && <Copy text={chosen.text} label={`Copy: ${label}`} />}
        <Tabs.List className="segments-list" aria-label={label}>
          {segments.map(({ name }) => (
            <Tabs.Trigger key={name} value={name} className="segment" children={name} />
          ))}
        </Tabs.List>
      </div>
      {segments.map(({ name, view }) => (
        <Tabs.Content key={name} value={name} className="segments-view" tabIndex={-1}>
          {name === chosen?.name && view()}
        </Tabs.Content>
      ))}
    </Tabs.Root>
  );
}
