// Package transporttest is the one suite that every client end of a transport has to pass, together with its server
// end. [Echo] is the server that it talks to. [Run] is for all transports, [RunBroken] for those over TCP, whose
// connections it breaks and freezes by a [Proxy]. A [FaultNet] is a network in memory that fails by a seeded plan.
//
// It tests what transport.Conn promises and nothing about a certain wire: what a broken server does, how a process
// ends or what HTTP answers is for the tests of each transport.
package transporttest
