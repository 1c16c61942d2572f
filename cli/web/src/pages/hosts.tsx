// The server as each host will see it.
import { Badge } from "../parts";
import type { SeenByHost } from "../generated/protocol";
import { brief, many } from "../words";
import { Source, useLint } from "./lint";

export function Hosts() {
  const report = useLint();
  if (!report) return null;
  return (
    <section aria-label="What each host will see">
      <h3>What each host will see</h3>
      <p className="note">If it is configured under the server's own name. Limits count this server only; hosts count the tools of all servers.</p>
      <div className="hosts" tabIndex={0} role="region" aria-label="Hosts">
        <table className="table">
          <thead>
            <tr>
              {["host", "tools", "names for the model", "not known to use"].map((name) => (
                <th key={name} scope="col" children={name} />
              ))}
            </tr>
          </thead>
          <tbody>
            {report.hosts.map((host) => (
              <tr key={host.host}>
                <th scope="row">
                  {host.title} {host.source !== null && <Source url={host.source} about={`names in ${host.title}`} />}
                </th>
                <td><Fate host={host} /></td>
                <td><Names host={host} /></td>
                <td>
                  {host.ignores.join(", ") || <span className="faint">–</span>}{" "}
                  {host.ignores.length > 0 && host.ignoresSource !== null && <Source url={host.ignoresSource} about={`capabilities of ${host.title}`} />}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Fate({ host }: { host: SeenByHost }) {
  if (host.refuses) return <Badge tone="bad" text="refuses requests" title="Requests to the model fail with these tools" />;
  if (host.dropped > 0) return <Badge tone="bad" text={`drops ${host.dropped.toLocaleString("en")} of ${host.tools.toLocaleString("en")}`} />;
  return <Badge tone="good" text={host.tools === 0 ? "none" : `all ${host.tools.toLocaleString("en")}`} />;
}

/** The first name; the others on demand. */
function Names({ host }: { host: SeenByHost }) {
  const [first] = host.names;
  if (!first) return <span className="faint">–</span>;
  return (
    <details>
      <summary className="mono">{brief(first.shown, 70)}</summary>
      <ul className="mono" tabIndex={0} aria-label={`Names in ${host.title}`}>
        {host.names.map(({ tool, shown, lost }, at) => (
          <li key={at}>
            {brief(shown, 120)} {shown !== tool && <span className="faint">{brief(tool, 80)}</span>} {lost && <Badge tone="bad" text="dropped" />}
          </li>
        ))}
      </ul>
      {host.tools > host.names.length && <p className="note">and {many(host.tools - host.names.length, "more tool")}</p>}
    </details>
  );
}
