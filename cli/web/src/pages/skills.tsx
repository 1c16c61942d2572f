// The skills of the server: their frontmatter, their files, and what each says.
import { useEffect, useMemo, useState } from "react";
import { Badge, Empty, Facts, Head, LongText, mono, ProblemBox, RowName, Split } from "../parts";
import { command } from "../program";
import type { JsonObject } from "../generated/protocol";
import { useAction, useEra, useList, useRevision } from "../store";
import { asText, brief, objectIn, objectsIn, sizeOf, textIn } from "../words";

const uriOf = (skill: JsonObject): string => textIn(skill, "uri") ?? "";
const matterOf = (skill: JsonObject): JsonObject => objectIn(skill, "frontmatter") ?? {};
const nameOf = (skill: JsonObject): string => textIn(matterOf(skill), "name") ?? uriOf(skill);

export function Skills() {
  const list = useList("skills");
  const items = useMemo(() => list.items?.map((skill) => ({ ...matterOf(skill), ...skill })) ?? null, [list.items]);
  return (
    <Split
      page="skills"
      lists={[["skill", { ...list, items }]]}
      names={["uri"]}
      verb="read it"
      none={list.state === "absent" ? <Missing /> : undefined}
      row={(one) => <RowName text={nameOf(one)} />}>
      {(skill) => <Skill skill={skill} />}
    </Split>
  );
}

function Missing() {
  const era = useEra();
  const revision = useRevision(era);
  return (
    <Empty title="This server offers no skills.">
      <p>
        {era === "legacy"
          ? `Skills are an extension of 2026-07-28, and this connection speaks ${revision}: a server may list their files as resources.`
          : "It did not declare the extension io.modelcontextprotocol/skills."}
      </p>
    </Empty>
  );
}

function Skill({ skill }: { skill: JsonObject }) {
  const era = useEra();
  const uri = uriOf(skill);
  const { name: _name, description: _description, ...matter } = matterOf(skill);
  const files = objectsIn(skill, "resources");
  const [chosen, setChosen] = useState(uri);
  const [read, setRead] = useState<{ file: string; bytes: number; text: string | null } | null>(null);
  const { problem, run } = useAction();
  const digest = JSON.stringify(files);
  useEffect(() => {
    run(async () => setRead({ file: chosen, ...(await command("skillFile", { era, skill: uri, file: chosen })) }));
  }, [era, uri, chosen, digest, run]);
  const text = read?.file === chosen ? read.text : undefined;
  return (
    <>
      <Head name={nameOf(skill)} of={matterOf(skill)}>
        {skill.resources === "dynamic" && <Badge tone="warn" text="dynamic" title="Its files have no digests to compare" />}
      </Head>
      <Facts rows={[["uri", mono(uri)], ...Object.entries(matter).map(([name, value]): [string, string] => [brief(name), brief(asText(value), 1000)])]} />
      {files.length > 0 && (
        <ul className="files" aria-label="Files">
          {files.map((file) => (
            <li key={uriOf(file)}>
              <button type="button" className="button quiet mono" aria-pressed={uriOf(file) === chosen} onClick={() => setChosen(uriOf(file))}>
                {brief(uriOf(file).replace(uri.slice(0, uri.lastIndexOf("/") + 1), ""), 200)}
              </button>
              <span className="figures">
                {typeof file.size === "number" && <span>{sizeOf(file.size)}</span>}
                <span className="mono ellipsis">{brief(textIn(file, "digest") ?? "")}</span>
              </span>
            </li>
          ))}
        </ul>
      )}
      {problem && <ProblemBox problem={problem} />}
      {!problem && typeof text === "string" && <LongText text={text} label={chosen === uri ? "SKILL.md" : "File"} />}
      {!problem && text === null && <p className="note">{sizeOf(read?.bytes ?? 0)} that are no text.</p>}
    </>
  );
}
