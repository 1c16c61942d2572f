// A custom store: maps here, a database in production.
import { checkStore, Server, type Store, type StoredEntry } from "trunkline";

class MapStore implements Store {
  // Maps each key to its expiry and its value or log entries.
  readonly #texts = new Map<string, { ends: number; text: string }>();
  readonly #logs = new Map<string, { ends: number; entries: StoredEntry[] }>();
  #position = 0;

  get(key: string): string | undefined {
    const kept = this.#texts.get(key);
    return kept && kept.ends > Date.now() ? kept.text : undefined;
  }

  put(key: string, text: string, keepFor: number): void {
    this.#texts.set(key, { ends: Date.now() + keepFor, text });
  }

  putIf(key: string, expected: string | undefined, text: string, keepFor: number): boolean {
    // Atomic because nothing is awaited in between. With a database, use a transaction.
    if (this.get(key) !== expected) return false;
    this.put(key, text, keepFor);
    return true;
  }

  remove(key: string): void {
    this.#texts.delete(key);
    this.#logs.delete(key);
  }

  append(log: string, entry: string, maxEntries: number, keepFor: number): number {
    const position = ++this.#position;
    const entries = [...this.#entries(log), { position, text: entry }].slice(-maxEntries);
    this.#logs.set(log, { ends: Date.now() + keepFor, entries });
    return position;
  }

  // A read need not wait for entries.
  read(log: string, after: number, limit: number): StoredEntry[] {
    return this.#entries(log)
      .filter(({ position }) => position > after)
      .slice(0, limit);
  }

  #entries(log: string): StoredEntry[] {
    const kept = this.#logs.get(log);
    return kept && kept.ends > Date.now() ? kept.entries : [];
  }
}

export const server = new Server({ name: "reports", version: "1.0.0" }, { store: new MapStore() });

const findings = await checkStore(new MapStore());
console.log(findings.join("\n") || "The store keeps its contract.");
