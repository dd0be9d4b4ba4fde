"""Several consumers on one subscription: broker, clients and network in virtual time, from seeds."""
