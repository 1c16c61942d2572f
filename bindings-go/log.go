package trunkline

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// Records beyond this are dropped.
	mostRecords = 1024
	// The time that the end of a server gives the log.
	flushTime = 100 * time.Millisecond
)

// logQueue has what slog will write. A goroutine writes it, because writing to a standard error that
// nobody reads never returns.
var logQueue = sync.OnceValue(func() chan func() {
	queue := make(chan func(), mostRecords)
	go func() {
		for write := range queue {
			write()
		}
	}()
	return queue
})

// report logs with slog, and never waits.
func report(level slog.Level, message string, args ...any) {
	select {
	case logQueue() <- func() { slog.Log(context.Background(), level, message, args...) }:
	default:
	}
}

func logged(level, target, message string) {
	levels := map[string]slog.Level{"error": slog.LevelError, "warn": slog.LevelWarn, "info": slog.LevelInfo, "debug": slog.LevelDebug}
	report(levels[level], message, "target", target)
}

// flushLog waits until earlier records are written.
func flushLog() {
	written, deadline := make(chan struct{}), time.After(flushTime)
	select {
	case logQueue() <- func() { close(written) }:
	case <-deadline:
		return
	}
	select {
	case <-written:
	case <-deadline:
	}
}
