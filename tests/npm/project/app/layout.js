// The root layout, which Next.js requires.
import { createElement } from "react";

export default function Layout({ children }) {
  return createElement("html", { lang: "en" }, createElement("body", null, children));
}
