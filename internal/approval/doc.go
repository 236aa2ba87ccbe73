// Package approval keeps the questions that a call needs a person's word for, until they are answered or too old. It asks
// whoever can be asked, takes the first answer from anywhere, and hands a yes to the identical call once.
//
// A question is bound to the exact call: principal, client and session, the server and its entry's hash, the tool and its
// definition's hash, the package's version, the risk, the flow, the version of the rules, and a digest over the raw bytes
// of the arguments. Any change makes it another question. Only the session may differ, once the one that asked has ended:
// an agent that comes back gets the answer to what it asked. So client and session tell calls apart, and authenticate
// nobody.
//
// What it keeps it keeps in a Store, which may be a file that several processes use at once. Nothing passes unless the
// Store has it on record: a Store that fails lets no call in.
//
// It doesn't decide which calls need a question, nor who may answer one; it writes no grants, no rules and no events, and
// knows no screens.
package approval
