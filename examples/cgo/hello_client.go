// A server with one tool, and a client that calls it from many goroutines.
package main

import (
	"errors"
	"fmt"
	"log"
	"sync"
	"sync/atomic"

	"hello/trunkline"
)

const descriptor = `{
	"name": "hello",
	"description": "Greets someone.",
	"inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
}`

type arguments struct {
	Name string `json:"name"`
}

func hello(given arguments) (string, error) {
	if given.Name == "nobody" {
		return "", errors.New("Nobody is not there.")
	}
	return "Hello, " + given.Name + "!", nil
}

func main() {
	server, err := trunkline.NewServer("hello", "1.0.0")
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	if err := trunkline.AddTool(server, descriptor, hello); err != nil {
		log.Fatal(err)
	}
	client, err := trunkline.ConnectMemory(server)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	var right atomic.Int32
	var goroutines sync.WaitGroup
	for number := 0; number < 16; number++ {
		goroutines.Add(1)
		go func(name string) {
			defer goroutines.Done()
			if text, err := client.CallTool("hello", arguments{name}); err == nil && text == "Hello, "+name+"!" {
				right.Add(1)
			}
		}(fmt.Sprint("guest ", number))
	}
	goroutines.Wait()
	fmt.Println(right.Load(), "answers")
	_, err = client.CallTool("hello", arguments{"nobody"})
	fmt.Println(err)
	_, err = client.CallTool("hello", []int{1})
	fmt.Println(err)
}
