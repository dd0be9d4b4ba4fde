"""Our own `.proto` files and the classes generated from them (`make proto`)."""
