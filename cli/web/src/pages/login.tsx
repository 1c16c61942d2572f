import { Check, LogIn, RefreshCw, X } from "lucide-react";
import { Badge, Button, Empty, IconButton, ProblemBox } from "../parts";
import { command } from "../program";
import type { Exchange } from "../generated/protocol";
import { useAction, useEra, useKnown } from "../store";
import { brief, timeOf } from "../words";

/** Each exchange of a login beside the text that it must follow. */
export function Login() {
  const exchanges = useKnown((state) => state.exchanges);
  const target = useKnown((state) => state.target);
  const era = useEra();
  const { busy, problem, run } = useAction();
  if (target?.transport === "stdio") {
    return (
      <div className="page">
        <Empty title="No login.">The server is a program on this computer, and reads its messages from standard input.</Empty>
      </div>
    );
  }
  return (
    <div className="page">
      <header className="head">
        <h2>Login</h2>
        <Button
          icon={LogIn}
          kind="main"
          disabled={busy}
          onClick={() => run(() => command("login", { era }))}
          text={exchanges.length === 0 ? "Log in" : "Log in again"}
        />
      </header>
      <p className="description">Every HTTP exchange of the login, with the members that matter, and the text that the response must follow.</p>
      {problem && <ProblemBox problem={problem} />}
      {exchanges.length === 0 && <Empty title="No login has been made.">The server asked for none, or a stored one was used.</Empty>}
      <ol className="ladder">
        {exchanges.map((exchange) => (
          <Rung key={exchange.id} exchange={exchange} />
        ))}
      </ol>
    </div>
  );
}

function Rung({ exchange: { id, at, method, url, status, members, clause, pass } }: { exchange: Exchange }) {
  const { busy, problem, run } = useAction();
  return (
    <li className="rung" data-pass={pass}>
      <span className="verdict" title={pass ? "as the text demands" : "not as the text demands"}>
        {pass ? <Check className="icon" aria-label="pass" /> : <X className="icon" aria-label="fail" />}
      </span>
      <div>
        <p className="request">
          <strong className="mono">{brief(method, 20)}</strong> <span className="mono">{brief(url, 1000)}</span>
          {status === null ? <Badge text="in the browser" /> : <Badge tone={pass ? "good" : "bad"} text={status} />}
        </p>
        {members.map((member, index) => (
          <p key={index} className="mono faint">{brief(member, 500)}</p>
        ))}
        {problem && <ProblemBox problem={problem} />}
      </div>
      <div className="clause">
        <span>{brief(clause)}</span>
        <span className="note-line">
          <span className="time">{timeOf(at)}</span>
          <IconButton icon={RefreshCw} label="Repeat this exchange" disabled={busy} onClick={() => run(() => command("repeat", { exchange: id }))} />
        </span>
      </div>
    </li>
  );
}
