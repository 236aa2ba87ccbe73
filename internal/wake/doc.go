// Package wake notices that the machine has slept or that its network has changed, after which connections to other
// machines may be dead without a sign. It counts such moments; what to do then is for whoever looks at the count.
//
// It asks no server and looks at no connection. A change of the network is noticed on Linux only, sleep wherever the
// monotonic clock stands still meanwhile.
package wake
