// A custom store: maps here, a database in production.
package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

type kept[T any] struct {
	value T
	ends  time.Time
}

type mapStore struct {
	lock     sync.Mutex
	texts    map[string]kept[string]
	logs     map[string]kept[[]trunkline.StoredEntry]
	position int
}

func newMapStore() *mapStore {
	return &mapStore{texts: map[string]kept[string]{}, logs: map[string]kept[[]trunkline.StoredEntry]{}}
}

func fresh[T any](table map[string]kept[T], key string) (T, bool) {
	found, exists := table[key]
	if !exists || time.Now().After(found.ends) {
		var none T
		return none, false
	}
	return found.value, true
}

func (store *mapStore) Get(_ context.Context, key string) (string, bool, error) {
	store.lock.Lock()
	defer store.lock.Unlock()
	text, found := fresh(store.texts, key)
	return text, found, nil
}

func (store *mapStore) Put(_ context.Context, key, text string, keepFor time.Duration) error {
	store.lock.Lock()
	defer store.lock.Unlock()
	store.texts[key] = kept[string]{text, time.Now().Add(keepFor)}
	return nil
}

// With a database, use a transaction.
func (store *mapStore) PutIf(_ context.Context, key string, expected *string, text string, keepFor time.Duration) (bool, error) {
	store.lock.Lock()
	defer store.lock.Unlock()
	current, found := fresh(store.texts, key)
	if found != (expected != nil) || found && current != *expected {
		return false, nil
	}
	store.texts[key] = kept[string]{text, time.Now().Add(keepFor)}
	return true, nil
}

func (store *mapStore) Remove(_ context.Context, key string) error {
	store.lock.Lock()
	defer store.lock.Unlock()
	delete(store.texts, key)
	delete(store.logs, key)
	return nil
}

func (store *mapStore) Append(_ context.Context, log, entry string, maxEntries int, keepFor time.Duration) (int, error) {
	store.lock.Lock()
	defer store.lock.Unlock()
	store.position++
	earlier, _ := fresh(store.logs, log)
	entries := append(earlier[:len(earlier):len(earlier)], trunkline.StoredEntry{Position: store.position, Text: entry})
	store.logs[log] = kept[[]trunkline.StoredEntry]{entries[max(0, len(entries)-maxEntries):], time.Now().Add(keepFor)}
	return store.position, nil
}

// Read need not wait for entries.
func (store *mapStore) Read(_ context.Context, log string, after, limit int, _ time.Duration) ([]trunkline.StoredEntry, error) {
	store.lock.Lock()
	defer store.lock.Unlock()
	var later []trunkline.StoredEntry
	entries, _ := fresh(store.logs, log)
	for _, entry := range entries {
		if entry.Position > after && len(later) < limit {
			later = append(later, entry)
		}
	}
	return later, nil
}

func main() {
	ctx := context.Background()
	options := trunkline.ServerOptions{OwnStore: newMapStore()}
	reports := trunkline.NewServer("reports", "1.0.0", options)
	defer reports.Close(ctx)

	findings := trunkline.Must(reports.CheckStore(ctx))
	if len(findings) == 0 {
		findings = []string{"The store keeps its contract."}
	}
	fmt.Println(strings.Join(findings, "\n"))
}
