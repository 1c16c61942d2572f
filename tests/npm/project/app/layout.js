// The page around every page, which Next.js asks for.
import { createElement } from "react";

export default function Layout({ children }) {
  return createElement("html", { lang: "en" }, createElement("body", null, children));
}
