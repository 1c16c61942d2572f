// The button that sends a request, and the calls that it has made.
import { Play } from "lucide-react";
import type { ReactNode } from "react";
import { MOD, useKey } from "../keys";
import { Button, ProblemBox } from "../parts";
import { useAction, useConnection, useKnown } from "../store";
import { Calls } from "./call-card";

interface Props {
  verb: string;
  method: string;
  about: string;
  /** The values in the form can be sent. */
  isReady?: boolean;
  send: () => Promise<unknown>;
  children?: ReactNode;
}

export function Caller({ verb, method, about, isReady = true, send, children }: Props) {
  const isOpen = useConnection()?.state === "open";
  const { busy, problem, run } = useAction();
  const calls = useKnown((state) => state.calls).filter((call) => call.method === method && call.about === about);
  const isOff = busy || !isOpen || !isReady;
  const start = (): void => {
    if (!isOff) run(send);
  };
  useKey("mod+enter", start);
  return (
    <>
      <div className="actions">
        <Button kind="main" icon={Play} keys={`${MOD}↵`} disabled={isOff} onClick={start} text={verb} />
        {children}
      </div>
      {problem && <ProblemBox problem={problem} />}
      <Calls calls={calls} />
    </>
  );
}
