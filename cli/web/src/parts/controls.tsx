// Buttons, badges and messages.
import { Check, Copy as CopyIcon, RefreshCw, type LucideIcon } from "lucide-react";
import { useState, type ComponentProps, type ReactNode } from "react";
import { command } from "../program";
import type { Connection, JsonObject, Problem } from "../generated/protocol";
import type { Action } from "../store";
import { brief, printable, textIn } from "../words";

const SCROLLS_FROM = 300;
const PROSE_MOST = 10_000;
const COPIED_MS = 1500;

interface ButtonProps extends ComponentProps<"button"> {
  icon?: LucideIcon;
  kind?: "plain" | "main" | "quiet";
  text: string;
  keys?: string;
}

export function Button({ icon: Icon, kind = "plain", text, keys, ...rest }: ButtonProps) {
  return (
    <button type="button" className={`button ${kind}`} {...rest}>
      {Icon && <Icon className="icon" aria-hidden />}
      {text}
      {keys !== undefined && (
        <kbd className="wide-only" aria-hidden>{keys}</kbd>
      )}
    </button>
  );
}

/** A button whose icon says enough; `label` is for its tooltip and for screen readers. */
export function IconButton({ icon: Icon, label, ...rest }: { icon: LucideIcon; label: string } & ComponentProps<"button">) {
  return (
    <button type="button" className="icon-button" title={label} aria-label={label} {...rest}>
      <Icon className="icon" aria-hidden />
    </button>
  );
}

/** Copies a text, which may have to be made or fetched first. */
export function Copy({ text, label }: { text: string | (() => string | Promise<string>); label: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(typeof text === "string" ? text : await text());
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  };
  return <IconButton icon={copied ? Check : CopyIcon} label={copied ? "Copied" : label} onClick={() => void copy().catch(() => setCopied(false))} />;
}

export type Tone = "plain" | "good" | "warn" | "bad";

export const Badge = ({ tone = "plain", text, title }: { tone?: Tone; text: string | number; title?: string }) => (
  <span className={`badge ${tone}`} title={title} children={text} />
);

const Labelled = ({ label, text }: { label: string; text: string }) => <p><span className="label">{label}</span> {brief(text, 1000)}</p>;

/** The three lines of an error, then the last lines of the server's standard error. */
export function ProblemBox({ problem, children }: { problem: Problem; children?: ReactNode }) {
  return (
    <div className="problem" role="alert">
      <p className="what">{brief(problem.what, 2000)}</p>
      {problem.where !== null && <Labelled label="tried" text={problem.where} />}
      {problem.hint !== null && <Labelled label="do" text={problem.hint} />}
      {problem.lines.length > 0 && (
        <pre tabIndex={0} aria-label="Last lines of standard error">{printable(problem.lines.join("\n"))}</pre>
      )}
      {children}
    </div>
  );
}

/** One of a few values. */
export function Select({ label, value, options, onChange, ...rest }: SelectProps) {
  return (
    <select aria-label={label} value={value} onChange={({ target }) => onChange(target.value)} {...rest}>
      {options.map(([name, text, isFixed]) => (
        <option key={name} value={name} disabled={isFixed} children={text} />
      ))}
    </select>
  );
}

interface SelectProps {
  label: string;
  value: string;
  options: [value: string, text: string, isFixed?: boolean][];
  onChange: (value: string) => void;
  disabled?: boolean;
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <p className="title">{title}</p>
      {children}
    </div>
  );
}

/** Grey rows, shown only if the wait can be felt. */
export const Skeleton = () => (
  <div className="skeleton" role="status" aria-label="Loading"><i /> <i /> <i /> <i /></div>
);

/** A long text of the server scrolls in its own box, which the keyboard must reach. */
export function Prose({ text, className = "description", id }: { text: string; className?: string; id?: string }) {
  return (
    <p id={id} className={className} tabIndex={text.length > SCROLLS_FROM ? 0 : undefined}>{brief(text, PROSE_MOST)}</p>
  );
}

/** Terms with their values; those without a value are left out. */
export function Facts({ rows, className = "" }: { rows: [string, ReactNode][]; className?: string }) {
  return (
    <dl className={`facts ${className}`}>
      {rows.map(([name, value], at) => value !== null && value !== "" && value !== false && <div key={at}><dt>{name}</dt><dd>{value}</dd></div>)}
    </dl>
  );
}

/** The name of a tool, prompt or resource with its description. */
export function Head({ name, of, children }: { name: string; of: JsonObject; children?: ReactNode }) {
  const description = textIn(of, "description");
  return (
    <>
      <header className="head">
        <h2>{brief(name)}</h2>
        {children}
      </header>
      {description !== null && <Prose text={description} />}
    </>
  );
}

/** Opens a connection: the first time, or again. */
export function Reconnect({ connection: { era, openings }, busy, run }: { connection: Connection } & Omit<Action, "problem">) {
  return (
    <Button icon={RefreshCw} disabled={busy} onClick={() => run(() => command("reconnect", { era }))} text={openings > 0 ? "Reconnect" : "Connect"} />
  );
}
