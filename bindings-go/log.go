package trunkline

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"
)

const (
	// Records beyond this are dropped.
	mostRecords = 1024
	// The time that the end of a server gives the log.
	flushTime = 100 * time.Millisecond
)

// logQueue has what slog will write.
var logQueue = make(chan func(), mostRecords)

// writeLog runs in a goroutine of its own, because writing to a standard error that nobody reads
// never returns.
func writeLog() {
	for write := range logQueue {
		if err := recovered(func() error { write(); return nil }); err != nil {
			fmt.Fprintln(os.Stderr, "trunkline: the handler of slog failed:", err)
		}
	}
}

// report logs with slog, and never waits.
func report(level slog.Level, message string, args ...any) {
	select {
	case logQueue <- func() { slog.Log(context.Background(), level, message, args...) }:
	default:
	}
}

func logged(level, target, message *str, _ uintptr) {
	var severity slog.Level
	// The library and slog name levels alike.
	_ = severity.UnmarshalText(level.bytes())
	report(severity, string(message.bytes()), "target", string(target.bytes()))
}

// flushLog waits until earlier records are written.
func flushLog() {
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	select {
	case logQueue <- cancel:
	case <-ctx.Done():
	}
	<-ctx.Done()
}
