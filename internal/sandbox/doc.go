// Package sandbox starts a server's process and ends it together with every
// process that descends from it.
//
// This is level "none": it gives the child a clean environment, its own process
// group, no open file but its three pipes, and a certain end. It does not limit
// what the child may read, write, reach or use, it does not restart anything,
// and it does not look at what goes through the pipes.
//
// With a watchdog (see [Launcher]) each child has a small process between it and
// us, which is the reaper of all orphans below it. It notices the death of our
// process, however sudden, by the end of a pipe, and ends the tree on its own.
// Without a watchdog only the child's process group is ended, a sudden death of
// our process ends the child alone, and a file or an ignored signal that we have
// inherited ourselves gets through to the child.
package sandbox
