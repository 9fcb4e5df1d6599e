//! Databases and their collections, by name.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::fault::{Fallible, Fault, INVALID_NAMESPACE, NAMESPACE_EXISTS, NAMESPACE_NOT_FOUND};
use super::memory_budget::MemoryBudget;
use super::stored_collection::{CappedLimits, StoredCollection};

type Collections = BTreeMap<String, Arc<StoredCollection>>;

#[derive(Debug)]
pub struct Store {
    databases: RwLock<BTreeMap<String, Collections>>,
    pub memory: Arc<MemoryBudget>,
}

#[derive(Debug, Clone, Copy)]
pub struct Name<'a> {
    /// Before the first dot of a namespace.
    pub database: &'a str,
    pub collection: &'a str,
}

impl<'a> Name<'a> {
    /// `database.collection`, split and checked.
    pub fn parse(namespace: &'a str) -> Fallible<Self> {
        let (database, collection) = namespace.split_once('.').unwrap_or((namespace, ""));
        let name = Self { database, collection };
        name.check()?;
        Ok(name)
    }

    /// Refuses impossible namespaces.
    pub fn check(&self) -> Fallible<()> {
        if self.database.is_empty() || self.collection.is_empty() || self.collection.contains('\0')
        {
            let message = format!("Invalid namespace specified '{}'", self.namespace());
            return Err(Fault::new(INVALID_NAMESPACE, message));
        }
        Ok(())
    }

    pub fn namespace(&self) -> String {
        format!("{}.{}", self.database, self.collection)
    }
}

impl Store {
    pub fn new(memory_bytes: u64) -> Self {
        let memory = Arc::new(MemoryBudget::new(memory_bytes));
        Self { databases: RwLock::default(), memory }
    }

    pub fn find(&self, name: Name<'_>) -> Option<Arc<StoredCollection>> {
        let databases = self.databases.read().unwrap_or_else(PoisonError::into_inner);
        databases.get(name.database)?.get(name.collection).cloned()
    }

    /// True: the collection was made.
    pub fn find_or_create(&self, name: Name<'_>) -> Fallible<(Arc<StoredCollection>, bool)> {
        if let Some(collection) = self.find(name) {
            return Ok((collection, false));
        }
        match self.create(name, None) {
            Ok(collection) => Ok((collection, true)),
            // Another connection was faster.
            Err(fault) if fault.code == NAMESPACE_EXISTS => {
                self.find(name).map(|collection| (collection, false)).ok_or(fault)
            }
            Err(fault) => Err(fault),
        }
    }

    pub fn create(
        &self,
        name: Name<'_>,
        capped: Option<CappedLimits>,
    ) -> Fallible<Arc<StoredCollection>> {
        name.check()?;
        if name.collection.contains('$') {
            let message = format!("Invalid collection name: {}", name.collection);
            return Err(Fault::new(INVALID_NAMESPACE, message));
        }
        let mut databases = self.databases.write().unwrap_or_else(PoisonError::into_inner);
        let collections = databases.entry(name.database.to_owned()).or_default();
        if collections.contains_key(name.collection) {
            let message = format!("Collection {} already exists.", name.namespace());
            return Err(Fault::new(NAMESPACE_EXISTS, message));
        }
        let memory = Arc::clone(&self.memory);
        let collection = Arc::new(StoredCollection::new(name.namespace(), capped, memory));
        collections.insert(name.collection.to_owned(), Arc::clone(&collection));
        Ok(collection)
    }

    pub fn drop(&self, name: Name<'_>) -> Fallible<Arc<StoredCollection>> {
        let mut databases = self.databases.write().unwrap_or_else(PoisonError::into_inner);
        let collections = databases.get_mut(name.database);
        let found = collections.and_then(|collections| collections.remove(name.collection));
        let collection = found.ok_or_else(|| Fault::new(NAMESPACE_NOT_FOUND, "ns not found"))?;
        if databases.get(name.database).is_some_and(BTreeMap::is_empty) {
            databases.remove(name.database);
        }
        drop(databases);
        Ok(collection)
    }

    /// Removes a database and returns its collections.
    pub fn drop_database(&self, database: &str) -> Option<Vec<Arc<StoredCollection>>> {
        let mut databases = self.databases.write().unwrap_or_else(PoisonError::into_inner);
        databases.remove(database).map(|collections| collections.into_values().collect())
    }

    pub fn collections(&self, database: &str) -> Vec<(String, Arc<StoredCollection>)> {
        let databases = self.databases.read().unwrap_or_else(PoisonError::into_inner);
        let collections = databases.get(database).into_iter().flatten();
        collections.map(|(name, collection)| (name.clone(), Arc::clone(collection))).collect()
    }

    pub fn databases(&self) -> Vec<String> {
        let databases = self.databases.read().unwrap_or_else(PoisonError::into_inner);
        databases.keys().cloned().collect()
    }
}
