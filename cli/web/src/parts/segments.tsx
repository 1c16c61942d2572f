// A few views of one thing, of which one is shown.
import * as Tabs from "@radix-ui/react-tabs";
import type { ReactNode } from "react";

interface Segment {
  name: string;
  title?: ReactNode;
  view: () => ReactNode;
}

interface Props {
  label: string;
  segments: Segment[];
  chosen: string;
  onChoose: (name: string) => void;
  /** Stands left of the tabs, in their line. */
  children?: ReactNode;
}

export function Segments({ label, segments, chosen, onChoose, children }: Props) {
  return (
    <Tabs.Root className="segments" value={chosen} onValueChange={onChoose}>
      <div className="segments-line">
        {children}
        <Tabs.List className="segments-list" aria-label={label}>
          {segments.map(({ name, title }) => (
            <Tabs.Trigger key={name} value={name} className="segment">
              {title ?? name}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
      </div>
      {segments.map(({ name, view }) => (
        <Tabs.Content key={name} value={name} className="segments-view" tabIndex={-1}>
          {name === chosen && view()}
        </Tabs.Content>
      ))}
    </Tabs.Root>
  );
}
