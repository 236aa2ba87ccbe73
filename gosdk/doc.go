// Package gosdk lets a server that was written with the official Go SDK (github.com/modelcontextprotocol/go-sdk, v1.8)
// be used within this process, as a transport.Transport.
//
//	server := sdk.NewServer(&sdk.Implementation{Name: "notes"}, nil)
//	sdk.AddTool(server, …)
//	t := gosdk.Transport(server)
//
// Messages pass as values: nothing is written or parsed between Usher and the SDK, and no goroutine or pipe lies
// between them. Parameters reach the SDK, and results leave it, as the bytes that they are. What happens between is the
// SDK's own, and it isn't faithful:
//
//   - It decodes parameters into its types and encodes its own types as results. Members that it doesn't know are lost
//     both ways, except in `_meta`; so are the order of members, space between tokens, the form of numbers (1.0 becomes
//     1) and integers above 2^53 in what it holds as `any`, such as schemas and structured content. Arguments of a tool
//     that was added with Server.AddTool keep their bytes; those of the generic AddTool don't.
//   - Of duplicate members the last one counts.
//   - An id keeps its value but not its spelling (`"\u0061"` comes back as `"a"`). Ids other than strings and integers
//     up to 2^53 are refused here, with transport.ErrNotSent.
//   - On shutdown it tells nobody that a subscription has ended.
//   - A call costs it far more than the way here: some hundred µs and KB.
//
// The package makes no server, adds no tools and bounds neither the size of messages nor the time of a call.
package gosdk
