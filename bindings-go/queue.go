package trunkline

import "sync"

// maxQueuedBytes bounds the items of a queue together; a single one may be larger.
const maxQueuedBytes = 4 << 20

// A queue keeps items until they are taken. Putting never waits, because callbacks must not.
type queue[T any] struct {
	change *sync.Cond
	items  []queuedItem[T]
	limit  int
	bytes  int
	closed bool
}

type queuedItem[T any] struct {
	item  T
	bytes int
}

func newQueue[T any](limit int) *queue[T] {
	return &queue[T]{change: sync.NewCond(new(sync.Mutex)), limit: limit}
}

// put adds an item of that size, unless the queue is full.
func (queue *queue[T]) put(item T, bytes int) bool {
	queue.change.L.Lock()
	defer queue.change.L.Unlock()
	if len(queue.items) >= queue.limit || len(queue.items) > 0 && queue.bytes+bytes > maxQueuedBytes {
		return false
	}
	queue.items = append(queue.items, queuedItem[T]{item, bytes})
	queue.bytes += bytes
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
	next := queue.items[0]
	// The array outlives the item.
	queue.items[0] = queuedItem[T]{}
	queue.items, queue.bytes = queue.items[1:], queue.bytes-next.bytes
	return next.item, true
}
