package trunkline

import "sync"

// A queue keeps items until they are taken. Putting never waits, because callbacks must not.
type queue[T any] struct {
	change *sync.Cond
	items  []T
	limit  int
	closed bool
}

func newQueue[T any](limit int) *queue[T] {
	return &queue[T]{change: sync.NewCond(new(sync.Mutex)), limit: limit}
}

// put adds an item, unless the queue is full.
func (queue *queue[T]) put(item T) bool {
	queue.change.L.Lock()
	defer queue.change.L.Unlock()
	if len(queue.items) >= queue.limit {
		return false
	}
	queue.items = append(queue.items, item)
	queue.change.Signal()
	return true
}

func (queue *queue[T]) close() {
	queue.change.L.Lock()
	queue.closed = true
	queue.change.L.Unlock()
	queue.change.Broadcast()
}

// get takes the next item. At the end, it returns false.
func (queue *queue[T]) get() (item T, isOpen bool) {
	queue.change.L.Lock()
	defer queue.change.L.Unlock()
	for len(queue.items) == 0 {
		if queue.closed {
			return item, false
		}
		queue.change.Wait()
	}
	item, queue.items = queue.items[0], queue.items[1:]
	return item, true
}
