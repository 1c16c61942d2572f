package trunkline

import "testing"

func TestAQueueIsBoundedByCountAndBytes(t *testing.T) {
	queue := newQueue[int](3)
	for _, one := range []struct {
		bytes int
		fits  bool
	}{{maxQueuedBytes + 1, true}, {1, false}} {
		if queue.put(1, one.bytes) != one.fits {
			t.Errorf("an item of %d bytes: %v", one.bytes, !one.fits)
		}
	}
	if _, isOpen := queue.get(); !isOpen || queue.bytes != 0 {
		t.Errorf("open: %v, %d bytes are left", isOpen, queue.bytes)
	}
	for number := range 4 {
		if queue.put(number, 1) != (number < 3) {
			t.Errorf("item %d", number)
		}
	}
}
