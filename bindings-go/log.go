package trunkline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
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

// logged passes on a record of the library, whose fields become attributes.
func logged(record *str, logger handle) {
	var read struct {
		// The library and slog name levels alike.
		Level  slog.Level     `json:"level"`
		Target string         `json:"target"`
		Event  string         `json:"event"`
		Fields map[string]any `json:"fields"`
	}
	if err := json.Unmarshal(record.bytes(), &read); err != nil {
		read.Level, read.Event = slog.LevelError, string(record.bytes())
	}
	attributes := []any{slog.String("target", read.Target)}
	for _, name := range slices.Sorted(maps.Keys(read.Fields)) {
		attributes = append(attributes, slog.Any(name, read.Fields[name]))
	}
	report(context.Background(), kept[*slog.Logger](logger), read.Level, read.Event, attributes...)
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
