//go:build !linux

package sqlite

import "sync/atomic"

// stamp gives another number each time.
type stamp struct{ own atomic.Uint64 }

func openStamp(string) *stamp { return &stamp{} }

func (s *stamp) read() uint64 { return s.own.Add(1) }
func (s *stamp) turn()        {}
