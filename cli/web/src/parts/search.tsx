// The field that filters a list.
import { Search } from "lucide-react";
import type { ComponentProps } from "react";

interface Props extends Omit<ComponentProps<"input">, "value" | "onChange"> {
  label: string;
  value: string;
  onChange: (value: string) => void;
}

export function SearchField({ label, value, onChange, onKeyDown, ...rest }: Props) {
  return (
    <label className="search">
      <Search className="icon" aria-hidden />
      <input
        value={value}
        aria-label={label}
        onChange={({ target }) => onChange(target.value)}
        onKeyDown={(event) => {
          onKeyDown?.(event);
          if (event.key !== "Escape" || value === "") return;
          onChange("");
          event.stopPropagation();
        }}
        {...rest}
      />
    </label>
  );
}
