//go:build !usher_replay

package upstream

// replayAfterCrash is true only in a build that breaks rule C4 on purpose, so that the tests show that they would see it.
const replayAfterCrash = false
