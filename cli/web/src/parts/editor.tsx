// The editor of JSON, which is loaded at the first edit.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { HighlightStyle, bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";

const theme = EditorView.theme({
  "&": { fontSize: "12.5px", color: "var(--ink)", backgroundColor: "var(--field)", height: "100%" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "18px", overflow: "auto" },
  ".cm-content": { padding: "6px 0", caretColor: "var(--ink)" },
  ".cm-line": { padding: "0 8px" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--accent-soft)" },
});

const colors = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--json-name)" },
  { tag: tags.string, color: "var(--json-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--json-value)" },
]);

interface Props {
  text: string;
  label: string;
  onChange: (text: string) => void;
}

export default function Editor({ text, label, onChange }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const changed = useRef(onChange);
  useEffect(() => {
    changed.current = onChange;
  });
  const first = useRef(text);
  useEffect(() => {
    if (!box.current) return;
    // In a shadow root, the styles of the editor are constructed sheets, which the CSP permits.
    const root = box.current.shadowRoot ?? box.current.attachShadow({ mode: "open" });
    const editor = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: first.current,
        extensions: [
          history(),
          bracketMatching(),
          indentOnInput(),
          json(),
          syntaxHighlighting(colors),
          theme,
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": label, "aria-multiline": "true", tabindex: "0" }),
          // ⌘↵ calls the tool.
          keymap.of([...defaultKeymap.filter(({ key }) => key !== "Mod-Enter"), ...historyKeymap]),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) changed.current(update.state.doc.toString());
          }),
        ],
      }),
    });
    return () => editor.destroy();
  }, [label]);
  return <div ref={box} className="editor-root" />;
}
