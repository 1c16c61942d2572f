import { AppWindow, GraduationCap, Hammer, KeyRound, ListChecks, MessageSquareText, Package, SearchCheck, Server } from "lucide-react";
import { useLint } from "../pages/lint";
import { linkTo, usePlace, type Page } from "../place";
import { useConnection, useKnown } from "../store";

interface Entry {
  page: Page;
  /** After `g`. */
  key: string;
  title: string;
  icon: typeof Server;
}

export const ENTRIES: Entry[] = [
  { page: "server", key: "s", title: "Server", icon: Server },
  { page: "tools", key: "t", title: "Tools", icon: Hammer },
  { page: "resources", key: "r", title: "Resources", icon: Package },
  { page: "prompts", key: "p", title: "Prompts", icon: MessageSquareText },
  { page: "tasks", key: "a", title: "Tasks", icon: ListChecks },
  { page: "apps", key: "u", title: "Apps", icon: AppWindow },
  { page: "skills", key: "k", title: "Skills", icon: GraduationCap },
  { page: "login", key: "l", title: "Login", icon: KeyRound },
  { page: "lint", key: "i", title: "Lint", icon: SearchCheck },
];

export function Rail() {
  const { page } = usePlace();
  const lists = useConnection()?.lists;
  const tasks = useKnown((state) => new Set(state.calls.flatMap((call) => (call.era === state.era && call.task !== null ? [call.task] : []))).size);
  const canLogIn = useKnown((state) => state.target !== null && state.target.transport !== "stdio");
  const lint = useLint();
  const counts: Partial<Record<Page, number>> = {
    tools: lists?.tools.count ?? 0,
    resources: (lists?.resources.count ?? 0) + (lists?.resourceTemplates.count ?? 0),
    prompts: lists?.prompts.count ?? 0,
    tasks,
    skills: lists?.skills.count ?? 0,
    lint: (lint?.findings.length ?? 0) + (lint?.omitted ?? 0),
  };
  return (
    <nav className="rail" aria-label="Pages">
      {ENTRIES.filter(({ page: one }) => one !== "login" || canLogIn).map(({ page: one, title, icon: Icon }) => (
        <a key={one} href={linkTo(one)} className="rail-entry" aria-current={one === page ? "page" : undefined} title={title}>
          <Icon className="icon" aria-hidden />
          <span className="rail-title">{title}</span>
          <span className="count">{counts[one] === undefined || counts[one] === 0 ? "" : counts[one].toLocaleString("en")}</span>
        </a>
      ))}
    </nav>
  );
}
