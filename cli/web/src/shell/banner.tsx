// Says why the connection or the program is not there.
import { KeyRound } from "lucide-react";
import { Button, Copy, ProblemBox, Reconnect } from "../parts";
import { go, usePlace } from "../place";
import { saying } from "../program";
import { useAction, useConnection, useKnown, useLink } from "../store";

export function Banner() {
  const link = useLink();
  const target = useKnown((state) => state.target);
  const connection = useConnection();
  const { page } = usePlace();
  const { busy, problem, run } = useAction();
  if (link.state === "unknown") {
    return (
      <ProblemBox
        problem={saying("This page has no access to trunkline", "Open the address that trunkline inspect has printed: its end holds the token.")}
      />
    );
  }
  if (link.state === "asleep") return <ProblemBox problem={saying("This tab sleeps, because others are open", "Click here to wake it.")} />;
  if (link.state === "ended" || (link.state === "lost" && target)) {
    const line = link.state === "ended" ? link.command : (target?.command ?? "");
    return (
      <ProblemBox problem={saying(link.state === "ended" ? "trunkline has ended" : "trunkline does not answer", `Run: ${line}`)}>
        <p className="note-line">
          <Copy text={line} label="Copy the command" />
          <span>This page connects by itself when the same address answers again.</span>
        </p>
      </ProblemBox>
    );
  }
  if (connection?.problem && (connection.state === "closed" || connection.state === "failed" || connection.state === "unsupported")) {
    return (
      <ProblemBox problem={problem ?? connection.problem}>
        <div className="actions">
          {connection.problem.code === "authorizationRequired" && page !== "login" && (
            <Button kind="main" icon={KeyRound} onClick={() => go("login")} text="Login" />
          )}
          <Reconnect connection={connection} busy={busy} run={run} />
        </div>
      </ProblemBox>
    );
  }
  return null;
}
