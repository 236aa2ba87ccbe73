// Package repair makes of a tool's inputSchema one that the model APIs take. One schema that an API refuses costs every
// request that carries the tool list, not only calls of that tool.
//
// # What the APIs refuse
//
// OpenAI: a root whose type isn't "object", without `properties`, or with oneOf, anyOf, allOf, enum or not; an array
// without `items`. Anthropic: anyOf, oneOf or allOf at the root; property names outside ^[a-zA-Z0-9_.-]{1,64}$; what
// breaks the rules of draft 2020-12; for some tools any `$ref`. Gemini (parametersJsonSchema): `$ref` beside other
// keywords and in required properties; required names without a property; it reads oneOf as anyOf. The aim is what all of
// them take as a plain, not strict, function. The old OpenAPI form of Gemini and the strict modes are no aim: they would
// cost most of what a schema says.
//
// # What is done
//
// A schema that nobody refuses comes back as the same bytes. Else it is written anew: members keep their order, data
// (const, enum, default, examples, numbers, unknown keywords) its bytes. Only places where a schema stands are looked at:
// a property may be called "properties", "$ref" or "type".
//
//   - The root is an object with properties. Its allOf, anyOf and oneOf are merged into it: required is what all
//     alternatives require, a property is what any of them says of it, and the description lists the alternatives.
//     A root not, enum or const is left out.
//   - Every local `$ref` is written out. A definition that contains itself is written out once inside itself and then cut
//     to a plain value of its type; less where the whole would grow past the bounds. What refers to another document,
//     to nothing, or to a dynamic anchor accepts anything. Nothing is fetched.
//   - true and false become {} and {"not":{}}, but for additionalProperties. oneOf becomes anyOf.
//   - `$schema`, `$id`, anchors and definitions are left out; draft 4's exclusiveMinimum, arrays of items and
//     `dependencies` are written as 2020-12 writes them. An array of types stays.
//   - An object gets the `properties`, an array the `items` that it lacks, and a required name its property.
//   - A property's odd name is replaced, alike in the whole schema; the description tells the original, and Arguments
//     puts the original back.
//   - Left out are patterns that not every engine compiles (told in the description), unevaluated…, keywords with values
//     that their definition doesn't allow, and objects under keywords that aren't JSON Schema's.
//   - So that no schema takes long: of the keywords of one schema that aren't JSON Schema's, those after the first 100 are
//     left out; what allOf says of one property of the root counts 16 times; and once 64 MiB were looked through for
//     references, the others count as broken.
//
// # What is promised
//
// The result accepts, under their new names, all arguments that the original accepts: it may be looser, so the original
// stays what calls are checked against. There are four exceptions, where it steers the model and is narrower: a property
// that only some of the root's alternatives declare must be what one of these declares; keywords of another draft than the
// schema's own are taken at their word; an argument that isn't declared and bears the new name of another; and a schema
// that can't be compiled, which accepts nothing. The result is the same for the same bytes, at most MaxBytes long, and
// repairing it changes nothing.
//
// The package checks no arguments (package schema does) and knows no names of tools or servers.
package repair
