// Stands in place of a list that is empty, absent, or not yet here.
import type { ReactNode } from "react";
import { Empty, ProblemBox, Skeleton } from "../parts/controls";
import type { ListName } from "../protocol";
import { useConnection, type Listed } from "../store";

/** `null` if the list can be shown. */
export function useInstead(list: ListName, noun: string, { items, problem }: Listed): ReactNode {
  const connection = useConnection();
  if (items && items.length > 0) return null;
  const state = connection?.lists[list];
  const failure = problem ?? state?.problem;
  if (failure) return <ProblemBox problem={failure} />;
  if (connection?.state === "connecting" || state?.state === "loading") return <Skeleton />;
  if (!connection?.revision) return <Empty title="Not connected." />;
  if (state?.state === "absent") return <Empty title={`This server offers no ${noun}.`}>It did not declare the capability.</Empty>;
  if (!items) return <Skeleton />;
  return <Empty title={`This server has no ${noun}.`}>It declares the capability; its list is empty.</Empty>;
}
