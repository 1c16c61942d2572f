package trunkline

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"
)

// logQueue has what slog will write. Records beyond its size are dropped.
var logQueue = make(chan func(), 1024)

// writeLog runs in a goroutine of its own, because writing to a standard error that nobody reads
// never returns.
func writeLog() {
	for write := range logQueue {
		if err := recovered(func() error { write(); return nil }); err != nil {
			fmt.Fprintln(os.Stderr, "trunkline: the handler of slog failed:", err)
		}
	}
}

// report logs with slog, and never waits. Without a logger, it uses the default one.
func report(ctx context.Context, logger *slog.Logger, level slog.Level, message string, args ...any) {
	select {
	case logQueue <- func() { cmp.Or(logger, slog.Default()).Log(ctx, level, message, args...) }:
	default:
	}
}

func logged(level, target, message *str, logger handle) {
	var severity slog.Level
	// The library and slog name levels alike.
	_ = severity.UnmarshalText(level.bytes())
	report(context.Background(), kept[*slog.Logger](logger), severity, string(message.bytes()), "target", string(target.bytes()))
}

// flushLog waits until earlier records are written. The end of a server gives the log 100 ms.
func flushLog() {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	select {
	case logQueue <- cancel:
	case <-ctx.Done():
	}
	<-ctx.Done()
}
