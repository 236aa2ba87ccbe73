//go:build usher_replay

package upstream

const replayAfterCrash = true
