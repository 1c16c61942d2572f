// A menu below its button.
import * as Radix from "@radix-ui/react-dropdown-menu";
import type { ReactNode } from "react";

export interface Entry {
  key: string;
  label: ReactNode;
  isCurrent?: boolean;
  choose: () => void;
}

interface Props {
  className: string;
  title?: string;
  disabled?: boolean;
  entries: Entry[];
  /** The content of the button. */
  children: ReactNode;
}

export function Menu({ entries, children, ...trigger }: Props) {
  return (
    <Radix.Root modal={false}>
      <Radix.Trigger {...trigger}>{children}</Radix.Trigger>
      <Radix.Content className="menu" align="start" sideOffset={4}>
        {entries.map(({ key, label, isCurrent, choose }) => (
          <Radix.Item key={key} className="menu-item" data-current={isCurrent} onSelect={choose}>{label}</Radix.Item>
        ))}
      </Radix.Content>
    </Radix.Root>
  );
}
