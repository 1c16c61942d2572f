// The parts of the Standard Schema and Standard JSON Schema interfaces (standardschema.dev) that
// this package uses. The types are structural: schemas of zod, arktype, valibot and others match
// without a dependency.

/** A schema of any library that implements Standard Schema. */
export interface StandardSchemaV1<Input = unknown, Output = Input> {
  /** The Standard Schema interface. */
  readonly "~standard": StandardSchemaV1.Props<Input, Output>;
}

// The namespace is part of the published interface, as in `StandardSchemaV1.InferOutput`.
// eslint-disable-next-line @typescript-eslint/no-namespace
export declare namespace StandardSchemaV1 {
  interface Props<Input = unknown, Output = Input> {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Result<Output> | Promise<Result<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** Present if the library also implements Standard JSON Schema. */
    readonly jsonSchema?: Converter | undefined;
  }

  interface Converter {
    readonly input: (options: ConverterOptions) => Record<string, unknown>;
    readonly output: (options: ConverterOptions) => Record<string, unknown>;
  }

  interface ConverterOptions {
    readonly target: "draft-2020-12";
    readonly libraryOptions?: Record<string, unknown>;
  }

  type Result<Output> = { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly Issue[] };

  interface Issue {
    readonly message: string;
    readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
  }

  type InferInput<Schema extends StandardSchemaV1> = NonNullable<Schema["~standard"]["types"]>["input"];
  type InferOutput<Schema extends StandardSchemaV1> = NonNullable<Schema["~standard"]["types"]>["output"];
}
