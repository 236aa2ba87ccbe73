// Package duplex is the server end of every connection that carries JSON-RPC messages both ways, whatever the bytes
// travel on: it tells messages from what is none, runs requests, keeps the order of notifications, hands cancellation
// and answers to who waits, and writes what is to be said within bounds.
//
// It knows no framing and no eras: a [Source] and a [Sink] bring the messages. The client ends share its [Parse] and
// [Scanner].
package duplex
