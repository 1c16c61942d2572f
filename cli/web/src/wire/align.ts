// The messages of both eras side by side: what means the same stands in one line.
import type { WireRow } from "../generated/protocol";

/** The comparison takes the product of both lengths. */
const MOST = 400;

export interface Pair {
  key: string;
  legacy: WireRow | null;
  modern: WireRow | null;
}

/** The eras open a connection by different requests. */
const OPENING = /^(initialize|server\/discover)$/;

function meaning(row: WireRow): string {
  if (row.kind === "http") return `http ${row.direction}`;
  return `${row.direction} ${row.kind} ${row.method?.replace(OPENING, "opening") ?? ""} ${row.about ?? ""}`;
}

/** Pairs by a longest common subsequence. */
export function aligned(rows: WireRow[]): Pair[] {
  const a = rows.filter((row) => row.era === "legacy").slice(-MOST);
  const b = rows.filter((row) => row.era === "modern").slice(-MOST);
  const [left, right] = [a.map(meaning), b.map(meaning)];
  const width = b.length + 1;
  const common = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; --i) {
    for (let j = b.length - 1; j >= 0; --j) {
      common[i * width + j] = left[i] === right[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const pairs: Pair[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    const [x, y] = [a[i] ?? null, b[j] ?? null];
    const same = x !== null && y !== null && left[i] === right[j];
    const takesLeft = same || y === null || (x !== null && at(i + 1, j) >= at(i, j + 1));
    const legacy = takesLeft ? x : null;
    const modern = same || !takesLeft ? y : null;
    if (legacy) ++i;
    if (modern) ++j;
    pairs.push({ key: `${legacy?.id ?? ""}-${modern?.id ?? ""}`, legacy, modern });
  }
  return pairs;
}
